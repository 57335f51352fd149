/** JSON Schema as the API documents show it (OpenAPI 3.1). It describes; what is taken and refused is decided by the routes. */
export type JsonSchema = Readonly<Record<string, unknown>>

interface ObjectOptions {
  description?: string
  /** Properties that may be absent. */
  optional?: readonly string[]
}

export const object = (
  properties: Readonly<Record<string, JsonSchema>>,
  { description, optional = [] }: ObjectOptions = {},
): JsonSchema => {
  const required = Object.keys(properties).filter(name => !optional.includes(name))
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    properties,
    ...(required.length > 0 && { required }),
  }
}

export const text = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
})

export const whole = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'integer',
  description,
  ...more,
})

export const yesOrNo = (description: string): JsonSchema => ({ type: 'boolean', description })

export const list = (items: JsonSchema, description: string): JsonSchema => ({ type: 'array', description, items })

/** The same, or `null`. */
export const nullable = (schema: JsonSchema): JsonSchema => ({ ...schema, type: [schema.type, 'null'] })

export const NOTHING: JsonSchema = { type: 'null' }
