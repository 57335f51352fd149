import { solve } from './proof.js'

/* Computes a proof of work beside the page, which stays usable meanwhile. */

addEventListener('message', ({ data: { challenge, difficulty } }) => postMessage(solve(challenge, difficulty)))
