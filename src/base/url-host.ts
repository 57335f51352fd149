/** The host of a URL as a connection is opened to it: an IPv6 address has no brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')
