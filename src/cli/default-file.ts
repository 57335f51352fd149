/** The configuration file of a command without `--config`. */
export const DEFAULT_CONFIG = 'config/gateway.yaml'
