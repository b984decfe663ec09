import {
  type Expression,
  isArrowFunction,
  isBinaryExpression,
  isBlock,
  isCallExpression,
  isConditionalExpression,
  isElementAccessExpression,
  isExpressionStatement,
  isIfStatement,
  isNonNullExpression,
  isNumericLiteral,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isReturnStatement,
  isStringLiteral,
  isThrowStatement,
  isWhileStatement,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";

/** A change of one place of a source file. */
export interface Change {
  readonly start: number;
  readonly end: number;
  /** What takes the place of the code from `start` to `end`. */
  readonly code: string;
  readonly isStatement: boolean;
  /** Whether the place runs when the module is loaded, and not in a function. */
  readonly isStatic: boolean;
}

const OTHER_OPERATORS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "+=": "-=",
  "-=": "+=",
};

/** The first of them that has the right type takes the place of what a function returns. */
const RETURNED = ["undefined", "true", "false", "[]", '""', "0", "null"];

/**
 * All changes of a file, in its order: negated conditions, other operators, other constants, what functions return, statements
 * that are left out, and optional chains that are not optional. Several alternatives for one place are one element: the first
 * that compiles is meant. Strings with spaces are sentences for people, and stay.
 */
export function listChanges(file: SourceFile): Change[][] {
  const places: Change[][] = [];
  visit(file, true);
  return places;

  function visit(node: Node, isStatic: boolean): void {
    const add = (place: Node, codes: readonly string[], isStatement = false): void => {
      const [start, end] = [place.getStart(file), place.end];
      const others = codes.filter((code) => code !== file.text.slice(start, end));
      const toCode = (code: string): string => (isStatement ? code : `(${code})`);
      places.push(others.map((code) => ({ start, end, code: toCode(code), isStatement, isStatic })));
    };
    for (const change of [changeConditions, changeOperators, changeConstants, changeResults, changeChains])
      change(node, add, file);
    node.forEachChild((child) => visit(child, isStatic && !RUN_LATER.has(node.kind)));
  }
}

type Add = (place: Node, codes: readonly string[], isStatement?: boolean) => void;

function changeConditions(node: Node, add: Add, file: SourceFile): void {
  const condition = findCondition(node);
  if (condition !== undefined && !isNegatedElsewhere(condition))
    add(condition, [`!(${condition.getText(file)})`]);
}

function findCondition(node: Node): Expression | undefined {
  if (isIfStatement(node) || isWhileStatement(node)) return node.expression;
  return isConditionalExpression(node) ? node.condition : undefined;
}

function changeOperators(node: Node, add: Add, file: SourceFile): void {
  if (isBinaryExpression(node)) {
    const { left, operatorToken, right } = node;
    const operator = operatorToken.getText(file);
    const other = OTHER_OPERATORS[operator];
    if (other !== undefined) add(node, [`${left.getText(file)} ${other} ${right.getText(file)}`]);
    if (operator === "??") add(node, [left.getText(file), right.getText(file)]);
  }
  if (isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken)
    add(node, [node.operand.getText(file)]);
  if (isPostfixUnaryExpression(node)) {
    const other = node.operator === SyntaxKind.PlusPlusToken ? "--" : "++";
    add(node, [`${node.operand.getText(file)}${other}`]);
  }
}

function changeConstants(node: Node, add: Add): void {
  if (!isValue(node)) return;
  if (isNumericLiteral(node)) add(node, [otherNumber(Number(node.text))]);
  if (node.kind === SyntaxKind.TrueKeyword) add(node, ["false"]);
  if (node.kind === SyntaxKind.FalseKeyword) add(node, ["true"]);
  if (isStringLiteral(node) && !node.text.includes(" ")) add(node, ['""', '"changed"']);
}

function changeResults(node: Node, add: Add): void {
  if (isReturnStatement(node) && node.expression !== undefined) add(node.expression, RETURNED);
  if (isArrowFunction(node) && !isBlock(node.body)) add(node.body, RETURNED);
  if (isThrowStatement(node)) add(node, [";"], true);
  if (isExpressionStatement(node) && !isStringLiteral(node.expression) && !isSuperCall(node.expression))
    add(node, [";"], true);
}

function changeChains(node: Node, add: Add, file: SourceFile): void {
  if (!isLink(node) || node.questionDotToken === undefined) return;
  let chain: Node = node;
  while (isLinkOf(chain, chain.parent)) chain = chain.parent;
  const [from, to] = [chain.getStart(file), node.questionDotToken.getStart(file)];
  const dot = isPropertyAccessExpression(node) ? "!." : "!";
  add(chain, [`${file.text.slice(from, to)}${dot}${file.text.slice(to + 2, chain.end)}`]);
}

const isLink = (node: Node) =>
  isPropertyAccessExpression(node) || isElementAccessExpression(node) || isCallExpression(node);

/** Whether a node is the beginning of a longer chain, such as `a?.b` of `a?.b.c`. */
const isLinkOf = (node: Node, parent: Node): boolean =>
  (isLink(parent) || isNonNullExpression(parent)) && parent.expression === node;

/** Large numbers are times and sizes. One more of them is too little to be seen. */
const otherNumber = (value: number): string => String(value < 1000 ? value + 1 : value * 2);

/** Whether a literal is a value, and not a type, a name or the source of an import. */
function isValue(node: Node): boolean {
  const { parent } = node;
  return parent !== undefined && !NO_VALUES.has(parent.kind) && Reflect.get(parent, "name") !== node;
}

const NO_VALUES = new Set<SyntaxKind>([
  SyntaxKind.LiteralType,
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.ImportAttribute,
]);

/** What a function has runs after the module is loaded. */
const RUN_LATER = new Set<SyntaxKind>([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
  SyntaxKind.PropertyDeclaration,
]);

const EQUALITY = new Set<SyntaxKind>([
  SyntaxKind.EqualsEqualsEqualsToken,
  SyntaxKind.ExclamationEqualsEqualsToken,
]);

/** Whether another change already negates a condition. */
const isNegatedElsewhere = (node: Node): boolean =>
  (isBinaryExpression(node) && EQUALITY.has(node.operatorToken.kind)) ||
  (isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken);

const isSuperCall = (node: Expression): boolean =>
  isCallExpression(node) && node.expression.kind === SyntaxKind.SuperKeyword;
