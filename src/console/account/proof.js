import { field, passwordInput } from '../elements/forms.js'
import { encrypted } from '../encryption.js'
import { t } from '../language/language.js'
import { codeField } from './enrolment.js'

/**
 * The fields by which users prove that a request is theirs: the present password, and a code where the account has a second factor.
 *
 * @param {boolean} hasFactor
 */
export function proofFields(hasFactor) {
  const password = passwordInput('current-password', 'current-password')
  const code = hasFactor ? codeField('code', { allowsRecovery: true }) : null
  return {
    body: [field({ id: 'current-password', label: t('current_password'), input: password }), code?.draw()],
    /** What is sent of it. */
    values: async () => ({
      current_password: await encrypted(password.value),
      ...(code !== null && { code: code.value() }),
    }),
    /** A code is accepted once. */
    failed: () => code?.clear(),
  }
}
