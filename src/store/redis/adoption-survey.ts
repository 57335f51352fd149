import { Cluster } from 'ioredis'
import type { Logger } from '../../base/log/log.ts'
import { Unavailable } from '../../base/refusal.ts'
import { bySide, LOGIN_TYPES, type LoginType } from '../../session/sides.ts'
import { connect } from './connection/connections.ts'

/** The data of a compatible program under one prefix, on one side. */
export interface SurveyedSide {
  tokens: number
  users: number
  disabled: number
  /** Some of its tokens with their records as they are stored. */
  samples: { token: string; text: string }[]
}

export interface Survey {
  keys: number
  /** Whether every key was passed. */
  complete: boolean
  /** By prefix. */
  families: Map<string, Record<LoginType, SurveyedSide>>
  /** The prefixes before `<TYPE>:captcha:<id>`; `''` for no prefix. */
  captchaPrefixes: Set<string>
}

const TIMEOUT = 5000
/** Keys per step, and in all: a survey shows the forms and need not count everything. */
const STEP = 1000
const MAX_KEYS = 1_000_000
const MAX_SAMPLES = 20

const KEY = new RegExp(`^(?:(.+):)?(${LOGIN_TYPES.join('|')}):(token|session|disable|captcha):(.+)$`, 's')
const COUNTED = { token: 'tokens', session: 'users', disable: 'disabled' } as const

const emptySide = (): SurveyedSide => ({ tokens: 0, users: 0, disabled: 0, samples: [] })

/** Scans the keys of one Redis database without changing anything. Throws `Unavailable` when it does not answer. */
export async function surveyRedis(url: string, log: Logger): Promise<Survey> {
  const connections = await connect({ url }, TIMEOUT, log)
  const client = connections.store
  try {
    if (client instanceof Cluster || client.status !== 'ready') throw new Unavailable('Redis: not connected')
    const survey: Survey = { keys: 0, complete: true, families: new Map(), captchaPrefixes: new Set() }
    let cursor = '0'
    do {
      const [next, keys] = await client.scan(cursor, 'COUNT', STEP)
      for (const key of keys) note(survey, key)
      cursor = next
      if (survey.keys >= MAX_KEYS && cursor !== '0') survey.complete = false
    } while (cursor !== '0' && survey.complete)
    await readSamples(survey, key => client.get(key))
    return survey
  } finally {
    await connections.close()
  }
}

function note(survey: Survey, key: string): void {
  survey.keys++
  const parts = KEY.exec(key)
  if (parts === null) return
  const [, prefix = '', type, kind, rest] = parts as unknown as [string, string?, LoginType?, string?, string?]
  if (kind === 'captcha') {
    survey.captchaPrefixes.add(prefix)
    return
  }
  let family = survey.families.get(prefix)
  if (family === undefined) {
    family = bySide(emptySide)
    survey.families.set(prefix, family)
  }
  const side = family[type!]
  side[COUNTED[kind as keyof typeof COUNTED]]++
  if (kind === 'token' && side.samples.length < MAX_SAMPLES) side.samples.push({ token: rest!, text: '' })
}

async function readSamples({ families }: Survey, get: (key: string) => Promise<string | null>): Promise<void> {
  for (const [prefix, family] of families) {
    for (const type of LOGIN_TYPES) {
      for (const sample of family[type].samples) {
        // A key of another type is not a record.
        sample.text = (await get(`${prefix}:${type}:token:${sample.token}`).catch(() => null)) ?? ''
      }
    }
  }
}
