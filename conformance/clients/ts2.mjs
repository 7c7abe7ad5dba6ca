// The TypeScript SDK, 2.x, in the mode that the plan names: legacy, auto, or the
// protocol version to insist on.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answers, play } from './play.mjs';

await play(async (plan, log) => {
  const mode = ['legacy', 'auto'].includes(plan.mode) ? plan.mode : { pin: plan.mode };
  const client = new Client({ name: 'ts2', version: '2.0.0' }, {
    capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } },
    versionNegotiation: { mode, probe: { timeoutMs: 10_000 } },
  });
  client.setRequestHandler('sampling/createMessage', r => (log.asked(r), answers['sampling/createMessage'](r)));
  client.setRequestHandler('elicitation/create', r => (log.asked(r), answers['elicitation/create'](r)));
  client.setRequestHandler('roots/list', r => (log.asked(r), answers['roots/list'](plan)()));
  client.fallbackNotificationHandler = async n => log.heard(n);
  await client.connect(new StdioClientTransport({ ...plan.server, stderr: 'ignore' }));
  return client;
});
