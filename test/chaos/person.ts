import bcrypt from 'bcrypt'
import type { History } from './history.ts'
import { type FoundPerson, personIn } from './people-file.ts'

/** What is known of a person: what was acknowledged last. */
export interface Person extends Omit<FoundPerson, 'hash'> {
  password: string
  /** Of the second factor. */
  secret: string | null
  /** Recovery codes that were not used. */
  codes: string[]
  /** The last step of RFC 6238 whose code was used, counted from 1970. */
  step: number
  /** Tokens. */
  held: string[]
  /** Changes that were requested and not answered: they may have been made, or still be made. */
  unanswered: Meant[]
}

/** What a change sets. */
export type Meant = Partial<Pick<Person, 'nickname' | 'roles' | 'status' | 'password' | 'hasFactor' | 'mustChange'>>

const FIELDS = ['nickname', 'roles', 'status', 'hasFactor', 'mustChange'] as const

/** A person as the file has it. */
export const personOf = ({ hash: _, ...found }: FoundPerson, password: string): Person => ({
  ...found,
  ...{ password, secret: null, codes: [], step: 0, held: [], unanswered: [] },
})

/** Compares what is known of people with the accounts file. */
export class Knowledge {
  readonly #folder: string
  readonly #history: History

  constructor(folder: string, history: History) {
    this.#folder = folder
    this.#history = history
  }

  /** A change is requested: until it is `answered`, it may have been made or not. */
  requested(person: Person, meant: Meant): Meant {
    person.unanswered = [...person.unanswered, meant]
    return meant
  }

  answered(person: Person, ...changes: Meant[]): void {
    person.unanswered = person.unanswered.filter(other => !changes.includes(other))
  }

  find(username: string): FoundPerson | null {
    return personIn(this.#folder, username)
  }

  /** Whether the file holds what was acknowledged last; reports what it does not hold with `report`. */
  agrees({ username, ...person }: Person, report: (fault: string) => void = () => undefined): boolean {
    const found = this.find(username)
    if (found === null) {
      report(`${username} has disappeared from the accounts file`)
      return false
    }
    const faults = (['id', ...FIELDS] as const).flatMap(field => {
      const [is, was] = [JSON.stringify(found[field]), JSON.stringify(person[field])]
      return is === was ? [] : [`the ${field} of ${username} is ${is} in the file; ${was} was acknowledged`]
    })
    if (!bcrypt.compareSync(person.password, found.hash))
      faults.push(`the password of ${username} is not the one that was acknowledged last`)
    for (const fault of faults) report(fault)
    return faults.length === 0
  }

  /** After a change that was not answered: each field has its old value or a requested one. */
  learn(person: Person): void {
    const { username, unanswered } = person
    const found = this.find(username)
    if (found === null) {
      this.#history.violated(`${username} has disappeared from the accounts file`)
      return
    }
    const { hash, ...rest } = found
    const passwords = [person, ...unanswered].flatMap(({ password }) => password ?? [])
    const password = passwords.find(one => bcrypt.compareSync(one, hash))
    if (password === undefined)
      this.#history.violated(`the password of ${username} was never requested, or is an old one`)
    for (const field of FIELDS) {
      const possible = [person, ...unanswered].flatMap(values =>
        field in values ? [JSON.stringify(values[field])] : [],
      )
      if (!possible.includes(JSON.stringify(found[field])))
        this.#history.violated(`the ${field} of ${username} is ${found[field]}; possible are ${possible}`)
    }
    const secret = found.hasFactor ? person.secret : null
    Object.assign(person, rest, { password: password ?? person.password, secret })
  }
}
