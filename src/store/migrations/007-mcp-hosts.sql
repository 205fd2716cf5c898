-- A server has its row from the moment that it is there, by whoever makes it. One whose maker had ended just before it
-- wrote that row is for whoever comes.
insert into kb.mcp_state (workspace_id)
select id
  from kb.agent_workspaces
 where container_type = 'mcp_server'
    on conflict do nothing;
