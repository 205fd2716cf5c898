import ts from 'typescript';

export interface Citation {
  readonly file: string;
  readonly line: number;
  /** Undefined where the call names its scenarios in a way that cannot be read from the source. */
  readonly id: string | undefined;
}

/** Every scenario that `verifies([...])` calls name, read from the syntax tree. */
export function findCitations(file: string, source: string): Citation[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ESNext);
  const citations: Citation[] = [];
  const visit = (node: ts.Node): void => {
    if (isVerifiesCall(node)) {
      const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
      for (const id of idsOf(node)) citations.push({ file, line, id });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return citations;
}

function isVerifiesCall(node: ts.Node): node is ts.CallExpression {
  return (
    ts.isCallExpression(node) &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === 'verifies'
  );
}

function idsOf(call: ts.CallExpression): (string | undefined)[] {
  const list = call.arguments[0];
  if (!list || !ts.isArrayLiteralExpression(list) || list.elements.length === 0) return [undefined];
  return list.elements.map((id) => (ts.isStringLiteralLike(id) ? id.text : undefined));
}
