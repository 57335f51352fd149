import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Editor } from './by-hand.ts'
import { History } from './history.ts'
import { fileIn, PERSONS, writePeople } from './people-file.ts'
import { Knowledge, personOf } from './person.ts'

/* What the chaos runs know of accounts, judged: a lost change is reported, and nothing else. */

function open(t: Test) {
  const folder = t.testdir()
  mkdirSync(join(folder, 'config'))
  writePeople(folder)
  const history = new History({ heartbeat: 0 })
  const knowledge = new Knowledge(folder, history)
  const [username] = PERSONS
  const person = personOf(knowledge.find(username)!, username)
  const write = (from: string, to: string): void => {
    const path = fileIn(folder)
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
  }
  const faults = (): string[] => {
    const found: string[] = []
    knowledge.agrees(person, fault => found.push(fault))
    return found
  }
  return { folder, history, knowledge, person, write, faults }
}

const RENAMED = ['nickname: person-one', 'nickname: another'] as const

t.test('a file that holds what was acknowledged is no violation, and another one is', async t => {
  const { person, write, faults } = open(t)
  t.same(faults(), [])
  write(...RENAMED)
  t.match(faults(), [/nickname of person-one is "another" in the file; "person-one" was acknowledged/])
  Object.assign(person, { nickname: 'another', password: 'not this one' })
  t.match(faults(), [/password of person-one is not the one/])
})

t.test('a change without an answer may be in the file or not, and no other may', async t => {
  const { history, knowledge, person, write } = open(t)
  const meant = knowledge.requested(person, { nickname: 'another' })
  knowledge.learn(person)
  t.equal(person.nickname, 'person-one')
  write(...RENAMED)
  knowledge.learn(person)
  t.equal(person.nickname, 'another')
  t.same(history.violations, [])
  knowledge.answered(person, meant)
  write('nickname: another', 'nickname: person-one')
  knowledge.learn(person)
  t.match(history.violations, [/nickname of person-one is person-one; possible are "another"/])
})

t.test('lost changes of an editor are a violation, but one by chance', async t => {
  const { folder, history } = open(t)
  const editor = new Editor(folder, history)
  const before = readFileSync(fileIn(folder), 'utf8')
  const lose = (): void => {
    t.equal(editor.save(), true)
    writeFileSync(fileIn(folder), before)
  }
  t.equal(editor.save(), true)
  t.not(readFileSync(fileIn(folder), 'utf8'), before)
  lose()
  editor.settle()
  t.same(history.violations, [])
  lose()
  editor.settle()
  t.match(history.violations, ['2 of 3 changes of an editor were lost'])
})
