import { addAccount } from '../../src/account/file/source.ts'

const [path = '', username = ''] = process.argv.slice(2)
await addAccount(path, { username, password: 'correct horse' })
