/** The loggable part of an error: its kind. The rest can contain the command, and with it a token. */
export function summaryOf(error: unknown): string {
  const { message = '', name = 'Error' } = error as Partial<Error>
  const kind =
    /^(?:[A-Z]{2,}\b|connect \w+|Command timed out|Connection is closed|Stream isn't writeable|Socket timeout)/.exec(
      message,
    )
  return kind?.[0] ?? name
}
