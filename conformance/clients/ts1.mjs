// The TypeScript SDK, 1.x.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answers, play } from './play.mjs';

await play(async (plan, log) => {
  const client = new Client({ name: 'ts1', version: '1.0.0' }, {
    capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } },
  });
  client.optionsThird = true;
  client.setRequestHandler(CreateMessageRequestSchema, r => (log.asked(r), answers['sampling/createMessage'](r)));
  client.setRequestHandler(ElicitRequestSchema, r => (log.asked(r), answers['elicitation/create'](r)));
  client.setRequestHandler(ListRootsRequestSchema, r => (log.asked(r), answers['roots/list'](plan)()));
  client.fallbackNotificationHandler = async n => log.heard(n);
  await client.connect(new StdioClientTransport({ ...plan.server, stderr: 'ignore' }));
  return client;
});
