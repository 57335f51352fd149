/** Exceptions of a gateway under test, as its configuration has them. */
export interface FuzzException {
  path: string
  methods: readonly string[]
  needs: 'none' | 'business' | 'consumer' | 'either'
}

/** Pages of a gateway under test. */
export interface FuzzPage {
  path: string
  needs: FuzzException['needs']
}

/** A private part of an application, one for consumers, and everything else for every client. */
export const PAGES: readonly FuzzPage[] = [
  { path: '/private/open/*', needs: 'none' },
  { path: '/private/*', needs: 'business' },
  { path: '/shop/*', needs: 'consumer' },
  { path: '/both/*', needs: 'either' },
  { path: '/*', needs: 'none' },
]

const ALL = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Beside and below paths that are generated often. */
export const EXCEPTIONS: readonly FuzzException[] = [
  { path: '/api/v1/sys/dict/tree', methods: ['GET'], needs: 'none' },
  { path: '/api/v1/help/*', methods: [...ALL], needs: 'none' },
  { path: '/api/v1/file/*', methods: ['GET', 'POST'], needs: 'either' },
  { path: '/api/v1/c/office/*', methods: [...ALL], needs: 'business' },
  { path: '/api/v1/b/guide/*', methods: [...ALL], needs: 'consumer' },
]
