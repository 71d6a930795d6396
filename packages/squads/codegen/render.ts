import type { rootNodeFromAnchor } from '@codama/nodes-from-anchor';

export type ProgramNode = ReturnType<typeof rootNodeFromAnchor>['program'];
export type DefinedTypeNode = ProgramNode['definedTypes'][number];

/** Renders an interface, an encoder and a decoder for each type that accounts and arguments are made of. */
export function renderTypes({ definedTypes }: ProgramNode): string {
  return file(definedTypes.map((type) => renderType(type, definedTypes)));
}

/** Renders the same for each account, without the discriminator that it begins with, which stands beside it. */
export function renderAccounts({ accounts, definedTypes }: ProgramNode): string {
  return file(accounts.map((account) => renderAccount(account, definedTypes)));
}

/**
 * Renders, for each instruction, its discriminator, the codecs of its arguments and the function that builds it.
 * @param encodedOnly names the instructions whose arguments need no decoder.
 */
export function renderInstructions(
  { instructions, definedTypes }: Pick<ProgramNode, 'instructions' | 'definedTypes'>,
  encodedOnly: readonly string[],
): string {
  return file(
    instructions.map((node) => {
      const sides: readonly Side[] = encodedOnly.includes(node.name) ? ['Encoder'] : SIDES;
      return renderInstruction(node, definedTypes, sides);
    }),
  );
}

function renderType({ name, docs, type }: DefinedTypeNode, types: readonly DefinedTypeNode[]): string {
  const declaration =
    type.kind === 'structTypeNode'
      ? `export interface ${pascal(name)} ${structBody(type)}`
      : `export type ${pascal(name)} =${typeText(type)};`;
  return `${doc(docs)}${declaration}\n\n${codecs(name, type, types)}`;
}

function renderAccount({ name, docs, data }: AccountNode, types: readonly DefinedTypeNode[]): string {
  if (data.kind !== 'structTypeNode') throw new Error(`The account ${name} is a ${data.kind}.`);
  const [discriminator, ...fields] = data.fields;
  if (!discriminator) throw new Error(`The account ${name} has no discriminator.`);
  const body: StructTypeNode = { ...data, fields };
  return `${renderDiscriminator(name, discriminator)}

${doc(docs)}export interface ${pascal(name)}Account ${structBody(body)}

${codecs(name, body, types, { typeName: `${pascal(name)}Account` })}`;
}

function renderInstruction(
  instruction: InstructionNode,
  types: readonly DefinedTypeNode[],
  sides: readonly Side[],
): string {
  const { name, docs, accounts } = instruction;
  const [discriminator, ...args] = instruction.arguments;
  if (!discriminator) throw new Error(`The instruction ${name} has no discriminator.`);
  const named = accounts.filter((account) => !isSystemProgram(account));
  const input = named.map(
    ({ name: account, isOptional, docs: lines }) =>
      `${doc(lines, '  ')}  readonly ${account}${isOptional ? '?: Address | null' : ': Address'};`,
  );
  return `${renderDiscriminator(name, discriminator)}

${args.length > 0 ? renderArgs(name, args, types, sides) : ''}export interface ${pascal(name)}Input${args.length > 0 ? ` extends ${pascal(name)}Args` : ''} {
${input.join('\n')}
}

${doc(docs)}export function get${pascal(name)}Instruction(input: ${pascal(name)}Input): SquadsInstruction {
  const accounts = [
${accounts.map(accountMeta).join('\n')}
  ];
  return instruction(${constant(name)}_DISCRIMINATOR, accounts${args.length > 0 ? `, ${name}ArgsEncoder.encode(input)` : ''});
}`;
}

function renderArgs(
  name: string,
  args: readonly InstructionNode['arguments'][number][],
  types: readonly DefinedTypeNode[],
  sides: readonly Side[],
): string {
  const fields = args.map(({ name: field, docs, type }) => ({
    kind: 'structFieldTypeNode' as const,
    name: field,
    docs,
    type,
  }));
  const type: StructTypeNode = { kind: 'structTypeNode', fields };
  return `export interface ${pascal(name)}Args ${structBody(type)}\n\n${codecs(`${name}Args`, type, types, { sides })}\n\n`;
}

function accountMeta(account: InstructionAccountNode): string {
  const role = `AccountRole.${account.isWritable ? 'WRITABLE' : 'READONLY'}${account.isSigner ? '_SIGNER' : ''}`;
  if (isSystemProgram(account)) return `    { address: SYSTEM_PROGRAM_ADDRESS, role: ${role} },`;
  if (account.isOptional) return `    optional(input.${account.name}, ${role}),`;
  return `    { address: input.${account.name}, role: ${role} },`;
}

function isSystemProgram({ name }: InstructionAccountNode): boolean {
  return name === 'systemProgram';
}

function renderDiscriminator(name: string, { defaultValue }: { readonly defaultValue?: object }): string {
  const hex = defaultValue && 'data' in defaultValue ? String(defaultValue.data) : '';
  const bytes = [...Buffer.from(hex, 'hex')];
  if (bytes.length !== 8) throw new Error(`The discriminator of ${name} has ${bytes.length} bytes.`);
  const text = `new Uint8Array([${bytes.join(', ')}])`;
  return `export const ${constant(name)}_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ ${text};`;
}

type AccountNode = ProgramNode['accounts'][number];
type InstructionNode = ProgramNode['instructions'][number];
type InstructionAccountNode = InstructionNode['accounts'][number];
type TypeNode = DefinedTypeNode['type'];
type StructTypeNode = Extract<TypeNode, { kind: 'structTypeNode' }>;
type EnumVariantTypeNode = Extract<TypeNode, { kind: 'enumTypeNode' }>['variants'][number];
const SIDES = ['Encoder', 'Decoder'] as const;
type Side = (typeof SIDES)[number];

function codecs(
  name: string,
  type: TypeNode,
  types: readonly DefinedTypeNode[],
  { typeName = pascal(name), sides = SIDES }: { readonly typeName?: string; readonly sides?: readonly Side[] } = {},
): string {
  const size = isFixedSize(type, types) ? 'FixedSize' : '';
  // A call without arguments can be dropped by a bundler as a whole, with all the calls in it.
  const render = (side: Side) =>
    `export const ${name}${side}: ${size}${side}<${typeName}> =
  /* @__PURE__ */ (() => ${codec(type, side)})();`;
  return sides.map(render).join('\n\n');
}

/** Borsh, as the program's Anchor reads and writes it. */
function codec(type: TypeNode, side: Side): string {
  switch (type.kind) {
    case 'numberTypeNode':
      return `get${pascal(type.format)}${side}()`;
    case 'booleanTypeNode':
      return `getBoolean${side}()`;
    case 'publicKeyTypeNode':
      return `address${side}`;
    // Text stays bytes: only memos are text, and kit's UTF-8 decoder drops null characters.
    case 'stringTypeNode':
    case 'bytesTypeNode':
      return `getBytes${side}()`;
    case 'sizePrefixTypeNode':
      return `add${side}SizePrefix(${codec(type.type, side)}, ${codec(type.prefix, side)})`;
    case 'fixedSizeTypeNode':
      return `fix${side}Size(${codec(type.type, side)}, ${type.size})`;
    case 'optionTypeNode':
      return `getNullable${side}(${codec(type.item, side)})`;
    case 'arrayTypeNode':
      if (type.count.kind === 'fixedCountNode')
        return `getArray${side}(${codec(type.item, side)}, { size: ${type.count.value} })`;
      return `getArray${side}(${codec(type.item, side)})`;
    case 'structTypeNode':
      return `getStruct${side}([${type.fields.map((field) => `\n  ['${field.name}', ${codec(field.type, side)}],`).join('')}\n])`;
    case 'enumTypeNode':
      return `getDiscriminatedUnion${side}([${type.variants.map((variant) => `\n  ['${pascal(variant.name)}', ${variantCodec(variant, side)}],`).join('')}\n])`;
    case 'definedTypeLinkNode':
      return `${type.name}${side}`;
    default:
      throw new Error(`No codec is known for a ${type.kind}.`);
  }
}

function variantCodec(variant: EnumVariantTypeNode, side: Side): string {
  if (variant.kind === 'enumEmptyVariantTypeNode') return `getUnit${side}()`;
  if (variant.kind === 'enumStructVariantTypeNode') return codec(structOf(variant.struct), side);
  throw new Error(`No codec is known for a ${variant.kind}.`);
}

function typeText(type: TypeNode): string {
  switch (type.kind) {
    case 'numberTypeNode':
      return ['u64', 'i64'].includes(type.format) ? 'bigint' : 'number';
    case 'booleanTypeNode':
      return 'boolean';
    case 'publicKeyTypeNode':
      return 'Address';
    case 'stringTypeNode':
    case 'bytesTypeNode':
      return 'ReadonlyUint8Array';
    case 'sizePrefixTypeNode':
    case 'fixedSizeTypeNode':
      return typeText(type.type);
    case 'optionTypeNode':
      return `${typeText(type.item)} | null`;
    case 'arrayTypeNode':
      return `${typeText(type.item)}[]`;
    case 'enumTypeNode':
      return type.variants.map((variant) => `\n  | ${variantText(variant)}`).join('');
    case 'definedTypeLinkNode':
      return pascal(type.name);
    default:
      throw new Error(`No type is known for a ${type.kind}.`);
  }
}

function variantText(variant: EnumVariantTypeNode): string {
  const fields = variant.kind === 'enumStructVariantTypeNode' ? structOf(variant.struct).fields : [];
  const members = fields.map(({ name, type }) => `; readonly ${name}: ${typeText(type)}`).join('');
  return `{ readonly __kind: '${pascal(variant.name)}'${members} }`;
}

function structBody({ fields }: StructTypeNode): string {
  const lines = fields.map(({ name, type, docs }) => `${doc(docs, '  ')}  readonly ${name}: ${typeText(type)};`);
  return `{\n${lines.join('\n')}\n}`;
}

function structOf(node: TypeNode): StructTypeNode {
  if (node.kind !== 'structTypeNode') throw new Error(`A variant's fields are a ${node.kind}.`);
  return node;
}

function isFixedSize(type: TypeNode, types: readonly DefinedTypeNode[]): boolean {
  switch (type.kind) {
    case 'numberTypeNode':
    case 'booleanTypeNode':
    case 'publicKeyTypeNode':
    case 'fixedSizeTypeNode':
      return true;
    case 'structTypeNode':
      return type.fields.every((field) => isFixedSize(field.type, types));
    case 'arrayTypeNode':
      return type.count.kind === 'fixedCountNode' && isFixedSize(type.item, types);
    case 'definedTypeLinkNode': {
      const target = types.find(({ name }) => name === type.name);
      return target !== undefined && isFixedSize(target.type, types);
    }
    default:
      return false;
  }
}

const PROGRAM_NAMES = ['instruction', 'optional', 'type SquadsInstruction'];

/** Puts the imports that the declarations need before them. */
function file(declarations: readonly string[]): string {
  const body = declarations.join('\n\n');
  const code = body.replaceAll(/\/\*\*.*?\*\//gs, '');
  const used = (names: readonly string[]) =>
    names.filter((name) => new RegExp(`\\b${name.replace('type ', '')}\\b`).test(code));
  const declared = new Set(all(code, /^export (?:const|interface|type) (\w+)/gm));
  const functions = new Set(all(code, /\b(get(?!\w+Instruction)\w+|add\w+SizePrefix|fix\w+Size)\(/g));
  const codecsOfTypes = all(code, /\b([a-z]\w+(?:Encoder|Decoder))\b(?!\()/g).filter(
    (name) => !ADDRESS_CODECS.includes(name),
  );
  const types = all(code, /(?:: )([A-Z]\w+)(?=;|\[| \|)/g).filter(
    (name) => !KIT_TYPES.includes(name) && name !== 'SquadsInstruction',
  );
  const local = [...codecsOfTypes, ...types.map((name) => `type ${name}`)].filter(
    (name) => !declared.has(name.replace('type ', '')) && !name.startsWith('fix'),
  );
  const imports = [
    importOf(used(ADDRESS_CODECS), '@flywheel/protocol'),
    importOf([...used(KIT_VALUES), ...functions, ...used(KIT_TYPES).map((name) => `type ${name}`)], '@solana/kit'),
    importOf(used(['SYSTEM_PROGRAM_ADDRESS']), '@solana-program/system'),
    importOf(used(PROGRAM_NAMES), '../program.ts'),
    importOf(local, './types.ts'),
  ];
  return `// Generated from the IDL of @sqds/multisig by \`npm run generate\`. Do not edit.\n\n${imports.join('')}\n${body}`;
}

const ADDRESS_CODECS = ['addressEncoder', 'addressDecoder'];
const KIT_VALUES = ['AccountRole'];
const KIT_TYPES = ['Address', 'Decoder', 'Encoder', 'FixedSizeDecoder', 'FixedSizeEncoder', 'ReadonlyUint8Array'];

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name]) => name ?? '');
}

function importOf(names: readonly string[], source: string): string {
  return names.length === 0 ? '' : `import { ${[...new Set(names)].join(', ')} } from '${source}';\n`;
}

function doc(lines: readonly string[] = [], indent = ''): string {
  if (lines.length === 0) return '';
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

function pascal(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function constant(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
