import Type from 'typebox'
import { EXCEPTION_METHODS } from '../../gate/exceptions.ts'
import { SIDE_NAMES } from '../../session.ts'
import { Section, Variant } from './notation.ts'

const Exception = Variant(
  {
    path: Type.String({
      minLength: 1,
      'x-form': 'a path such as /api/v1/sys/dict/tree, or /api/v1/file/* for everything below',
      description: 'A path, exact, or with /* at its end for what begins with the part before the *.',
    }),
    methods: Type.Array(Type.Union(EXCEPTION_METHODS.map(method => Type.Literal(method))), {
      minItems: 1,
      default: ['GET'],
      description: 'The methods of the exception; GET includes HEAD.',
    }),
    needs: Type.Union(
      (['none', ...SIDE_NAMES, 'either'] as const).map(need => Type.Literal(need)),
      { description: 'What these requests need: no session, a session of one side, or one of either side.' },
    ),
  },
  'Requests that need something else than the rule of their path says.',
)

export const Gate = Section(
  {
    exceptions: Type.Array(Exception, {
      default: [],
      description: 'Exceptions from rules 4 to 6 of the gate; the first that fits decides.',
    }),
  },
  'The gate.',
)
