// Its search runs in a worker made from a blob, and its fonts come from another server: neither is allowed here.
const system = 'ui-sans-serif, system-ui, sans-serif'
const theme = { typography: { fontFamily: system, headings: { fontFamily: system } } }
globalThis.Redoc.init('openapi.json', { disableSearch: true, theme }, document.getElementById('redoc'))
