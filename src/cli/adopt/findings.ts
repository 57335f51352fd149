import { LOGIN_TYPES } from '../../session/sides.ts'
import { isSection } from '../../settings/notation/written.ts'
import type { Survey, SurveyedSide } from '../../store/redis/adoption-survey.ts'
import { isSignedBy, parsed } from './records.ts'
import type { Service } from './service.ts'

/** The findings, line by line, without secrets and tokens. */
export function findingsOf(survey: Survey, service: Service | null, url: string): string[] {
  const { hostname, port, pathname } = new URL(url)
  const lines = [
    `Redis ${hostname}:${port || 6379}, database ${pathname.slice(1) || 0}: ${survey.keys} keys${survey.complete ? '' : ' and more'}`,
  ]
  for (const [prefix, family] of survey.families) {
    lines.push(`prefix ${prefix}`)
    for (const type of LOGIN_TYPES) {
      const { tokens, users, disabled } = family[type]
      lines.push(`  ${type}  ${tokens} tokens of ${users} users, ${disabled} disabled`)
      lines.push(...formsOf(family[type]).map(line => `            ${line}`))
    }
    const samples = LOGIN_TYPES.flatMap(type => family[type].samples)
    if (service?.secret === undefined) continue
    const { name, value } = service.secret
    const fitting = samples.filter(({ token }) => isSignedBy(token, value)).length
    lines.push(`  secret    ${name} fits ${fitting} of ${samples.length} tokens read`)
  }
  for (const prefix of survey.captchaPrefixes)
    lines.push(`captchas ${prefix === '' ? '' : `${prefix}:`}<TYPE>:captcha:<id>`)
  if (survey.captchaPrefixes.size === 0)
    lines.push('captchas none at present: request one there, and run this again in another folder')
  return lines
}

/** The time format and the fields of `extra` in the records of a side, without digits and values. */
function formsOf({ samples }: SurveyedSide): string[] {
  const forms = new Map<string, number>()
  const names = new Set<string>()
  for (const { text } of samples) {
    const record = parsed(text)
    const created = typeof record.created_at === 'string' ? record.created_at.slice(0, 40) : 'absent'
    const form = created.replace(/^[^+Z]*/, digits => digits.replace(/\d/g, '0'))
    forms.set(form, (forms.get(form) ?? 0) + 1)
    if (isSection(record.extra)) for (const name of Object.keys(record.extra)) names.add(name)
  }
  const lines = Array.from(
    forms,
    ([form, count]) => `created_at like ${form} (${count} of ${samples.length} records read)`,
  )
  if ([...forms.keys()].some(form => /^[\d :T.-]+$/.test(form)))
    lines.push('a created_at without an offset is read in `timezone`')
  if (names.size > 0) lines.push(`extra names ${[...names].slice(0, 20).join(', ')}`)
  if (samples.length > 0 && !names.has('roles')) lines.push('no roles in the records: permissions.source: accounts')
  return lines
}
