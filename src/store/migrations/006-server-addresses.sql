-- Where servers are reached by the others on this database. A row counts only while its server shows itself alive.
create table kb.server_addresses (
  number integer primary key,
  url text not null,

  constraint url_shape check (url ~ '^https?://')
);
