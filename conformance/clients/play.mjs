// A client's session, whatever the library: reads a plan from standard input, does
// what it lists in order, and prints what came of it as JSON. The plan names the
// command of the server; whether that is a bare server or one behind a proxy is
// not for a client to know.

import process from 'node:process';

// Standard output is for the report; libraries chat there.
console.log = console.info = console.debug = () => {};

export async function readPlan() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

// answers are what every client says to the questions of a server.
export const answers = {
  'sampling/createMessage': () => ({ role: 'assistant', model: 'none', stopReason: 'endTurn', content: { type: 'text', text: 'an answer – ünïcode 🙂' } }),
  'elicitation/create': request => ({ action: 'accept', content: contentFor(request.params) }),
  'roots/list': plan => () => ({ roots: plan.roots }),
};

function contentFor(params) {
  const content = {};
  for (const [name, schema] of Object.entries(params?.requestedSchema?.properties ?? {})) {
    const choices = schema.enum ?? schema.oneOf?.map(c => c.const) ?? schema.items?.enum ?? schema.items?.anyOf?.map(c => c.const);
    switch (schema.type) {
      case 'boolean': content[name] = true; break;
      case 'integer': case 'number': content[name] = schema.minimum ?? 7; break;
      case 'array': content[name] = choices.slice(0, Math.max(1, schema.minItems ?? 1)); break;
      default:
        content[name] = choices?.[0] ?? { email: 'a@example.org', uri: 'https://example.org/', date: '2026-07-28', 'date-time': '2026-07-28T00:00:00Z' }[schema.format] ?? 'some words';
    }
  }
  return content;
}

const patience = 180_000;

// play connects, plays and closes. open(plan, log) returns a connected client of
// either generation, whose methods have the same names.
export async function play(open) {
  const plan = await readPlan();
  const report = { server: null, answers: [], asked: {}, heard: {} };
  const log = {
    asked: request => (report.asked[request.method] ??= []).push(request.params ?? null),
    heard: n => (report.heard[n.method] ??= []).push(n.params ?? null),
  };
  let client;
  try {
    client = await open(plan, log);
    watch(client.transport);
    report.server = {
      version: client.getServerVersion?.() ?? null,
      capabilities: client.getServerCapabilities?.() ?? null,
      instructions: client.getInstructions?.() ?? null,
      protocol: client.getNegotiatedProtocolVersion?.() ?? client.transport?._protocolVersion ?? null,
    };
    for (const action of plan.actions) report.answers.push(await act(client, action, report));
  } catch (error) {
    report.answers.push({ connect: fault(error) });
  }
  await client?.close();
  await new Promise(done => process.stdout.write(JSON.stringify(report), done));
  process.exit(0);
}

// watch keeps the progress that arrives. A library hands it out until it has the
// answer, and that may be at once when both come together.
let arrived = [];
function watch(transport) {
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (message.method === 'notifications/progress') {
      const { progressToken, ...rest } = message.params;
      arrived.push(rest);
    }
    deliver(message, extra);
  };
}

function fault(error) {
  return { name: error?.name ?? null, code: error?.code ?? null, message: String(error?.message ?? error), data: error?.data ?? null };
}

async function act(client, action, report) {
  const answer = { do: action.do };
  let steps = 0;
  const abort = new AbortController();
  const options = { timeout: patience };
  if (action.progress) {
    arrived = [];
    options.onprogress = () => {
      if (action.cancel === ++steps) abort.abort('enough');
    };
  }
  if (action.cancel !== undefined) options.signal = abort.signal;
  if (action.cancel === 0) setTimeout(() => abort.abort('enough'), 300);
  try {
    answer.result = await perform(client, action, options, report);
  } catch (error) {
    answer.error = fault(error);
  }
  // What comes after a cancellation is a race of its own; some servers have one
  // between their last steps and the end.
  if (action.progress) answer.progress = arrived.slice(0, action.cancel || action.first);
  return answer;
}

async function perform(client, action, options, report) {
  switch (action.do) {
    case 'tools': return client.listTools({}, options);
    case 'resources': return client.listResources({}, options);
    case 'templates': return client.listResourceTemplates({}, options);
    case 'prompts': return client.listPrompts({}, options);
    case 'call': return call(client, { name: action.name, arguments: action.with ?? {} }, options);
    case 'read': return client.readResource({ uri: action.uri }, options);
    case 'prompt': return client.getPrompt({ name: action.name, arguments: action.with }, options);
    case 'complete': return client.complete({ ref: action.ref, argument: action.argument }, options);
    case 'ping': return client.ping(options);
    case 'level': return client.setLoggingLevel(action.level, options);
    case 'subscribe': return client.subscribeResource({ uri: action.uri }, options);
    case 'unsubscribe': return client.unsubscribeResource({ uri: action.uri }, options);
    case 'roots changed': return (await client.sendRootsListChanged()) ?? null;
    case 'at once': return Promise.all(action.of.map(a => act(client, a, report)));
    case 'hear': return hear(action, report);
    default: throw new Error(`no such action: ${action.do}`);
  }
}

// call calls a tool. In the first generation the options come third.
function call(client, params, options) {
  return client.optionsThird ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

// hear waits until a kind of notification has come so many times.
async function hear(action, report) {
  for (let waited = 0; waited < 20_000; waited += 20) {
    if ((report.heard[action.method]?.length ?? 0) >= action.count) return { heard: action.count };
    await new Promise(done => setTimeout(done, 20));
  }
  throw new Error(`${action.method} was not heard ${action.count} times`);
}
