import { RULES, type Rule } from '../../src/gate/rules.ts'

/** The rule of the gate with this number, as the table of the README has it. */
export const ruleNumbered = (number: number): Rule => RULES.find(rule => rule.number === number)!
