import type { Fault } from './fault.ts'

/** Where a value of the configuration is: keys and positions in lists. */
export type KeyPath = readonly (string | number)[]

export const textOf = (path: KeyPath): string =>
  path
    .map(part => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '')

/** The variable of a setting: `STORE__REDIS__URL` of `store.redis.url`. */
export const variableOf = (path: KeyPath): string => path.join('__').toUpperCase()

/** Where a value was written. */
export interface Place {
  /** `config/gateway.yaml:12`, or `environment LISTEN__PORT`. */
  label: string
  /** What a relative path that is written here is relative to. */
  folder: string
  /** The label says which value it is, as the name of a variable does and a line does not. */
  exact?: true
}

/** Reports a fault at a path. */
export type Report = (path: KeyPath, message: string) => void

/** A remark on a setting, or on what is no setting: then its path is empty. */
export interface Warning extends Fault {
  path: KeyPath
}

/** The nearest thing around a value that has a place, and how many parts of its path lead there. */
export interface Located {
  place: Place
  depth: number
}

interface WrittenFault extends Fault {
  path: KeyPath
  /** An unknown key: what stands beside it was read all the same. */
  isUnknown?: true
}

export type Section = Record<string, unknown>

export const isSection = (value: unknown): value is Section =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A configuration as it was written, from all of its places, with its faults. */
export class Written {
  value: unknown
  /** `false` when what was written could not be made out: then nothing is to be said about what it does not contain. */
  legible = true
  readonly faults: WrittenFault[] = []
  /** What does not prevent a start. */
  readonly warnings: Warning[] = []
  /** Finds the values and keys that are not read as they are written, as numbers of many digits are. */
  altered: () => readonly KeyPath[] = () => []
  readonly #locate: (path: KeyPath) => Located
  /** Of values that were set later, by their paths as texts. */
  readonly #placesOfSet = new Map<string, Place>()

  /** `locate` finds what is in the first of the places; without it that place has no parts. */
  constructor(value: unknown, place: Place, locate: (path: KeyPath) => Located = () => ({ place, depth: 0 })) {
    this.value = value
    this.#locate = locate
  }

  /** The place of a value, or of the nearest thing around it that was written. */
  placeOf(path: KeyPath): Place {
    return this.#nearest(path).place
  }

  report(path: KeyPath, message: string): void {
    this.faults.push({ place: this.#labelOf(path), message, path })
  }

  reportUnknown(path: KeyPath, message: string): void {
    this.faults.push({ place: this.#labelOf(path), message, path, isUnknown: true })
  }

  /** A fault that is gone when another one is corrected. */
  reportFollowing(path: KeyPath): void {
    this.faults.push({ place: this.#labelOf(path), message: 'has the cause of another fault', path, follows: true })
  }

  warn(path: KeyPath, message: string): void {
    this.warnings.push({ place: this.#labelOf(path), message, path })
  }

  #labelOf(path: KeyPath): string {
    const { place, depth } = this.#nearest(path)
    const said = path.length === 0 || (place.exact === true && depth === path.length)
    return said ? place.label : `${place.label} ${textOf(path)}`
  }

  /** Whether a value at, below or above the path is faulty: there is nothing sound to look at then. */
  isFaulty(path: KeyPath): boolean {
    return this.#hasFault(path, () => true)
  }

  /** Whether a section has an unknown key, which may be meant for one that is missing. */
  hasUnknown(path: KeyPath): boolean {
    return this.faults.some(fault => fault.isUnknown === true && textOf(fault.path.slice(0, -1)) === textOf(path))
  }

  /** Whether a list has no value, because it or something above it is faulty; its entries may be. */
  isUnread(path: KeyPath): boolean {
    return this.#hasFault(path, fault => fault.length <= path.length)
  }

  #hasFault(path: KeyPath, counts: (path: KeyPath) => boolean): boolean {
    return this.faults.some(fault => {
      if (fault.isUnknown === true || !counts(fault.path)) return false
      // A fault of the file as a whole says nothing about its keys.
      if (fault.path.length === 0) return path.length === 0
      const shared = Math.min(path.length, fault.path.length)
      return path.slice(0, shared).every((part, index) => fault.path[index] === part)
    })
  }

  /** The value at a path; `undefined` if it is absent. */
  get(path: KeyPath): unknown {
    let value = this.value
    for (const part of path) value = isSection(value) || Array.isArray(value) ? (value as Section)[part] : undefined
    return value
  }

  /** Replaces a value; where the path leads through a text, a section replaces the text. A position leads into a list that is there. */
  set(path: KeyPath, value: unknown, place: Place): void {
    if (!isSection(this.value)) this.value = emptySection()
    let section = this.value as Section
    for (const [index, part] of path.slice(0, -1).entries()) {
      const isList = typeof path[index + 1] === 'number' && Array.isArray(section[part])
      if (!isList && !isSection(section[part])) section[part] = emptySection()
      section = section[part] as Section
    }
    section[path.at(-1)!] = value
    const key = textOf(path)
    for (const below of this.#placesOfSet.keys()) {
      if (below.startsWith(`${key}.`) || below.startsWith(`${key}[`)) this.#placesOfSet.delete(below)
    }
    this.#placesOfSet.set(key, place)
  }

  /** A value that was set later hides what stood in its place. */
  #nearest(path: KeyPath): Located {
    for (let depth = this.#placesOfSet.size === 0 ? 0 : path.length; depth > 0; depth--) {
      const place = this.#placesOfSet.get(textOf(path.slice(0, depth)))
      if (place !== undefined) return { place, depth }
    }
    return this.#locate(path)
  }
}

/** Without a prototype, so that `__proto__` is a key like any other and nothing is inherited. */
export const emptySection = (): Section => Object.create(null) as Section
