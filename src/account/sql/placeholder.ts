/** What stands for the value in an operator's query. */
export type Placeholder = ':username' | ':id'

/** Every place in a query where its value goes. */
export const placesOf = (placeholder: Placeholder): RegExp => new RegExp(`${placeholder}(?![A-Za-z0-9_])`, 'g')
