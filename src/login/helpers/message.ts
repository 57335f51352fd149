/** What a gateway sends to its helper process. */
export interface Task {
  id: number
  name: string
  task: unknown
}

/** The answer: a result or the text of a fault. */
export interface Answer {
  id: number
  result?: unknown
  fault?: string
  /** Processor time of the task in milliseconds. */
  cpu: number
}
