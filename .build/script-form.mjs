/** How esbuild joins modules into one script that Node runs without its module loader. */
export const SCRIPT_FORM = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  // Node loses the way to import of a script that comes from compiled code.
  supported: { 'dynamic-import': false },
  legalComments: 'none',
  write: false,
}
