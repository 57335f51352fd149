import { SettingsSchema } from './settings.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type JsonObject = { [key: string]: Json }

/** The schema of the configuration file as plain JSON Schema, for editors; the form of a value is part of its description. */
export function editorSchema(): JsonObject {
  const schema = plain(JSON.parse(JSON.stringify(SettingsSchema)) as Json) as JsonObject
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema }
}

function plain(value: Json): Json {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const { required, 'x-form': form, ...all } = value
  const { 'x-path': _p, 'x-url': _u, 'x-secret': _s, 'x-longest': _l, 'x-reads': _r, ...rest } = all
  const kept = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, plain(inner)])) as JsonObject
  if (Array.isArray(required) && required.length > 0) kept.required = required
  // A section of which every key is commented out is empty, which YAML reads as null.
  else if (kept.type === 'object') kept.type = ['object', 'null']
  if (typeof form === 'string') kept.description = [kept.description, `Written as ${form}.`].filter(Boolean).join(' ')
  return kept
}
