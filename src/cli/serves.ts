/** Whether the words of a command line start a gateway. */
export const serves = ([command, ...words]: readonly string[]): boolean =>
  command === undefined || (command === 'start' && !words.includes('--help') && !words.includes('-h'))
