import t from 'tap'
import { ownViewOf } from '../../src/store/redis/tracking/slots.ts'

const OK = 'cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_assigned:16384\r\n'
const OTHER = 'bbb 127.0.0.1:2@12 master - 0 1700000000000 9 connected 100-16383'

/** The answer to CLUSTER NODES of a node. */
const nodes = ({ flags = 'myself,master', epoch = '3', slots = '0-98 99', pong = '0' } = {}): string =>
  `${OTHER}\naaa 127.0.0.1:1@11,host ${flags} - 0 ${pong} ${epoch} connected ${slots}\n`

t.test('a master of a Cluster names its slots', async t => {
  t.same(ownViewOf(nodes(), OK)?.ranges, [
    [0, 98],
    [99, 99],
  ])
  t.same(ownViewOf(nodes({ slots: '' }).replaceAll(' \n', '\n'), OK)?.ranges, [])
})

t.test('a server is not believed to own its slots', async t => {
  t.equal(ownViewOf(nodes(), OK.replace('ok', 'fail')), null, 'when the majority has lost it')
  t.equal(ownViewOf(nodes({ flags: 'myself,slave' }), OK), null, 'when it is a replica')
  t.equal(ownViewOf(nodes({ slots: '0-98 [98->-bbb]' }), OK), null, 'when one of them is leaving')
  t.equal(ownViewOf(nodes({ slots: '0-98 [99-<-bbb]' }), OK), null, 'when one of them is coming')
  t.equal(ownViewOf(OTHER, OK), null, 'when it does not name itself')
  t.equal(ownViewOf('', ''), null, 'when it is of no Cluster')
})

t.test('two views of a master are equal only if no other master can have changed its slots in between', async t => {
  const identity = ownViewOf(nodes(), OK)!.identity
  t.equal(ownViewOf(nodes({ pong: '17' }), OK)?.identity, identity)
  t.not(ownViewOf(nodes({ epoch: '4' }), OK)?.identity, identity, 'another epoch')
  t.not(ownViewOf(nodes({ slots: '0-98' }), OK)?.identity, identity, 'other slots')
})
