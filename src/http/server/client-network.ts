import { memoize } from '../../base/memoize.ts'
import { networkOf } from '../../login/protection/network.ts'

const networkOfAddress = memoize(networkOf)

/** The network of a request's client. Addresses repeat from request to request; a closed connection has none. */
export const clientNetworkOf = ({ ip }: { ip: string | undefined }): string => networkOfAddress(ip ?? '')
