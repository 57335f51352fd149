/** What the upstream answers: 90 bytes of JSON. */
export const ANSWER = '{"id":7,"state":"shipped","items":[{"sku":"A-1","n":2},{"sku":"B-9","n":1}],"total":"444"}'
