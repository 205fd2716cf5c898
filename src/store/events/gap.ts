/**
 * The id of the first event behind `after` (an SQL expression) before which an id is missing that may still come:
 * ids are given when an event is written, but it is seen only when its transaction has committed, so a higher one
 * may be seen first. Null: nothing is missing.
 *
 * Every transaction that writes events does so in its last statement and takes milliseconds from there. What is
 * still missing when the event behind it has been there for 3 seconds was rolled back or pruned. So only the last
 * 3 seconds are looked through, however long the log is, and all of them, whatever the reader is looking for: the
 * missing event might be of the kind.
 */
export function firstOpenGap(after: string): string {
  return `(
    select min(behind.id)
      from kb.workspace_events behind
     where behind.recorded_at > statement_timestamp() - interval '3 seconds'
       and behind.id > ${after} + 1
       and not exists (select 1 from kb.workspace_events before where before.id = behind.id - 1)
  )`;
}
