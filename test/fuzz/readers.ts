import type { LoginType } from '../../src/session/sides.ts'
import type { FuzzException, FuzzPage } from './exceptions.ts'

/* How servers behind the gateway may read a path that it passed on: models of what real ones do before they route. */

/** What a request must have proved to be allowed where it arrives; `outside` is where nothing is ever passed on to. */
export type Access = 'none' | LoginType | 'either' | 'outside'

/** What the gateway under test decides by. */
export interface Rules {
  profile: 1 | 2
  exceptions: readonly FuzzException[]
  /** Absent for none. */
  pages?: readonly FuzzPage[]
}

const isVersioned = (path: string): boolean => /^\/api\/v[0-9]+(\/|$)/.test(path)

/** Paths that no page covers. */
const KEPT =
  /^\/(?:api|console|docs|redoc|v3\/api-docs|sign-in|sign-out|\.well-known\/dualgate)(?:\/|$)|^\/(?:openapi\.json|favicon\.ico)$/

/** The pages, as they are written. */
function accessToPage(path: string, method: string, pages: readonly FuzzPage[]): Access {
  if (KEPT.test(path)) return 'outside'
  const page = pages.find(({ path: pattern }) => path === pattern.slice(0, -2) || path.startsWith(pattern.slice(0, -1)))
  if (page === undefined) return 'outside'
  return method === 'OPTIONS' ? 'none' : ACCESS[page.needs]
}

/**
 * The specification's gate ("Authentication gate") and its exceptions, applied to a path as another parser reads it.
 */
function accessTo(path: string, method: string, { profile, exceptions, pages = [] }: Rules): Access {
  if (!isVersioned(path)) return accessToPage(path, method, pages)
  if (method === 'OPTIONS') return 'none'
  const [, , , first, second] = path.split('/')
  const below = path.split('/').length - 4
  if (first === 'public' && profile === 2 && below > 0) return 'none'
  if (first === 'public' && (second === 'b' || second === 'c') && below > 1) return 'none'
  const exception = exceptions.find(one => isExcepted(one, path, method))
  if (exception !== undefined) return ACCESS[exception.needs]
  return first === 'c' && below > 0 ? 'CONSUMER' : 'BUSINESS'
}

const ACCESS = { none: 'none', business: 'BUSINESS', consumer: 'CONSUMER', either: 'either' } as const

function isExcepted({ path: pattern, methods }: FuzzException, path: string, method: string): boolean {
  if (!methods.includes(method === 'HEAD' ? 'GET' : method)) return false
  return pattern.endsWith('/*') ? path.slice(0, pattern.length - 1) === pattern.slice(0, -1) : path === pattern
}

type Step = (path: string) => string

/** Decodes what can be decoded and leaves the rest, as lenient servers do. */
const decode: Step = path =>
  Buffer.from(
    path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')

const stripParameters: Step = path => path.replace(/;[^/]*/g, '')
const backslashIsSlash: Step = path => path.replaceAll('\\', '/')
const mergeSlashes: Step = path => path.replace(/\/{2,}/g, '/')
const endAtNul: Step = path => path.split('\0', 1)[0]!
const endAtMarks: Step = path => path.split(/[?#]/, 1)[0]!
const trimSegments: Step = path => path.replace(/[. \t]+(?=\/|$)/g, dots => (/^\.\.?$/.test(dots) ? dots : ''))
const compatibilityForms: Step = path => path.normalize('NFKC')
const lowerCase: Step = path => path.toLowerCase()

const resolveDots: Step = path => {
  const kept: string[] = []
  const segments = path.split('/')
  for (const [i, segment] of segments.entries()) {
    const isLast = i === segments.length - 1
    if (segment === '..' && kept.length > 1) kept.pop()
    else if (segment !== '.' && segment !== '..') kept.push(segment)
    if (isLast && (segment === '.' || segment === '..')) kept.push('')
  }
  return kept.join('/')
}

export interface Reader {
  name: string
  read(path: string): string
  /** Whether it knows fewer paths apart than the gate does: what it takes for another rule's may have been judged by the last. */
  isCoarser: boolean
}

const OPTIONAL: Readonly<Record<string, Step>> = {
  stripParameters,
  backslashIsSlash,
  mergeSlashes,
  endAtNul,
  endAtMarks,
}
const COARSER: Readonly<Record<string, Step>> = { trimSegments, compatibilityForms, lowerCase }

/** Every combination of what servers do: decoding not at all, once or twice, any of the steps, then dots, then folding. */
const READERS: readonly Reader[] = [0, 1, 2].flatMap(times =>
  subsetsOf(Object.keys(OPTIONAL)).flatMap(steps =>
    ['', ...Object.keys(COARSER)].map((folding): Reader => {
      const chain = [
        ...Array.from({ length: times }, () => decode),
        ...steps.map(step => OPTIONAL[step]!),
        ...(folding === '' ? [] : [COARSER[folding]!]),
        resolveDots,
      ]
      const name = [`decoding ${times} times`, ...steps, folding].filter(part => part !== '').join(', ')
      return { name, read: path => chain.reduce((read, step) => step(read), path), isCoarser: folding !== '' }
    }),
  ),
)

function subsetsOf<T>(items: readonly T[]): T[][] {
  return Array.from({ length: 2 ** items.length }, (_, chosen) => items.filter((_, i) => (chosen >> i) % 2 === 1))
}

/** The accepted user, as the upstream gets it. */
export type Proven = 'none' | LoginType

/**
 * In whose eyes a request went where its sender has proved nothing for; `null` when all agree with the gate. A reader
 * that knows fewer paths apart may find another rule where the last one was asked: a session of the B side was proved,
 * and the upstream receives that. It may find an exception, too, where the gate found none: what was proved is what the rule
 * demands without it.
 */
export function misreader(path: string, method: string, proven: Proven, rules: Rules): string | null {
  for (const { name, read, isCoarser } of READERS) {
    const access = accessTo(read(path), method, rules)
    // A page that needs a session has more spellings than are written.
    if (access === 'none' && rules.pages !== undefined && !isVersioned(read(path))) continue
    if (access === proven || (access === 'either' && proven !== 'none')) continue
    if (isCoarser && proven === 'BUSINESS' && access !== 'outside') continue
    if (isCoarser && proven !== 'none' && proven === accessTo(read(path), method, { ...rules, exceptions: [] }))
      continue
    return `${name}: ${JSON.stringify(read(path))} needs ${access}, and ${proven} was proved`
  }
  return null
}
