import t from 'tap'
import { faultsOfNode } from '../../src/process/outdated-node.ts'

t.test('a gateway warns of a version of Node whose parser accepts ambiguous requests', async t => {
  for (const node of ['20.19.0', '20.19.1'])
    t.match(faultsOfNode({ node, llhttp: '8.1.2' }), [{ place: `Node ${node}`, message: /20\.19\.2 or newer/ }], node)
  t.same(faultsOfNode({ node: '20.19.2', llhttp: '9.2.1' }), [])
  t.same(faultsOfNode({ node: '26.0.0', llhttp: '10.0.0' }), [])
  t.match(
    faultsOfNode({ node: '30.0.0' }),
    [{ place: 'Node 30.0.0' }],
    'with another parser, which may not be as strict',
  )
})
