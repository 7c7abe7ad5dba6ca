// A server that starts only with a directory, its argument, that it can read, and with
// SHELF_TOKEN in its environment: node shelf.mjs DIRECTORY
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'

const books = readdirSync(process.argv[2])
if (process.env.SHELF_TOKEN !== 'a token of the shelf') {
	console.error('SHELF_TOKEN is not set')
	process.exit(1)
}

const answers = {
	initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shelf', version: '1.0.0' } }),
	'tools/list': () => ({ tools: [{ name: 'books', description: 'lists the books', inputSchema: { type: 'object' } }] }),
	'tools/call': () => ({ content: [{ type: 'text', text: books.join(' ') }] }),
	ping: () => ({}),
}

for await (const line of createInterface({ input: process.stdin })) {
	const { id, method, params } = JSON.parse(line)
	if (id === undefined) continue // a notification
	const answer = answers[method]
	const reply = answer ? { result: answer(params) } : { error: { code: -32601, message: `no method ${method}` } }
	console.log(JSON.stringify({ jsonrpc: '2.0', id, ...reply }))
}
