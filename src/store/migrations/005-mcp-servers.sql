-- Hosted MCP servers: rows with a program of their own.

-- No server has made one yet, so none of these has a program to run: they are the workspaces that they were made as.
update kb.agent_workspaces
   set container_type = 'agent_workspace', mcp_config = null
 where container_type = 'mcp_server' or mcp_config is not null;

alter table kb.agent_workspaces
  drop constraint mcp_config_shape,
  -- Members are added in code; the name is what the database itself goes by.
  add constraint mcp_config_shape check (
    mcp_config is null
    or (jsonb_typeof(mcp_config) = 'object' and jsonb_typeof(mcp_config -> 'name') is not distinct from 'string')
  ),
  add constraint mcp_server_with_config check (
    (container_type = 'mcp_server') = (mcp_config is not null)
  );

create unique index mcp_server_name_unique on kb.agent_workspaces (owner, (mcp_config ->> 'name'))
  where container_type = 'mcp_server';

create table kb.mcp_state (
  workspace_id uuid primary key references kb.agent_workspaces on delete cascade,
  -- The number of the server that alone talks to the program. Null: nobody does, whoever comes may.
  host integer,
  -- Null: nothing was ever started.
  state jsonb,

  constraint state_shape check (
    case
      when state is null then true
      when jsonb_typeof(state) = 'object' then
        state - array['restarts', 'crashes', 'back_offs', 'last_exit', 'run'] = '{}'
        and jsonb_path_exists(state, 'strict $ ? (
          @.restarts.type() == "number" && @.restarts >= 0 && @.restarts.floor() == @.restarts
          && @.back_offs.type() == "number" && @.back_offs >= 0 && @.back_offs.floor() == @.back_offs
          && @.crashes.type() == "array"
          && (@.last_exit.type() == "object" || @.last_exit.type() == "null")
          && (@.run.type() == "object" || @.run.type() == "null")
        )')
      else false
    end
  )
);

-- What somebody wished to keep of servers that are gone. No foreign key: the rows are gone too.
create table kb.kept_volumes (
  -- Of the server that had them, and of the next one of this name.
  id uuid primary key,
  owner text not null,
  name text not null,
  provider text not null,
  sandbox_name text not null,
  paths jsonb not null,
  kept_at timestamptz(3) not null,

  constraint kept_name_unique unique (owner, name),
  constraint provider_name check (provider ~ '^[a-z][a-z0-9_-]{0,62}$'),
  constraint paths_shape check (
    case
      when jsonb_typeof(paths) = 'array' then
        jsonb_array_length(paths) > 0 and not jsonb_path_exists(paths, '$[*] ? (@.type() != "string")')
      else false
    end
  ),
  constraint kept_at_finite check (isfinite(kept_at))
);

-- What happens to a server's program is of its workspace.
alter table kb.workspace_events
  drop constraint type_shape,
  drop constraint workspace_where_due,
  add constraint type_shape check (
    type ~ '^(workspace|tool|mcp|provider|pool)\.[a-z][a-z0-9_]{0,62}$'
  ),
  add constraint workspace_where_due check (
    (workspace_id is not null) = (type ~ '^(workspace|tool|mcp)\.')
  );
