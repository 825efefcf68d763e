import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ImageFactory } from '../../../scripts/stack/image-factory.js';
import { startImageFactory } from '../../../scripts/stack/image-factory.js';

const post = (factory: ImageFactory, body: string) =>
  fetch(`${factory.url}/schematics`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/yaml' },
  });

const idOf = async (factory: ImageFactory, body: string) =>
  ((await (await post(factory, body)).json()) as { id: string }).id;

describe('image factory', () => {
  let factory: ImageFactory;
  beforeAll(async () => {
    factory = await startImageFactory();
  });
  afterAll(() => factory.stop());

  // The ids are those that the real factory gives (siderolabs/image-factory, pkg/schematic/schematic_test.go).
  it.each([
    ['{}', '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'],
    ['customization: {}', '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'],
    [
      'customization: {"extraKernelArgs": []}',
      '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba',
    ],
    [
      '{"customization": {"extraKernelArgs": ["noapic", "nolapic"], "systemExtensions": {}}}',
      '9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c',
    ],
    [
      '{"customization": {"meta": [{"key": 10, "value": "foo"}], "extraKernelArgs": []}}',
      'd308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f',
    ],
    [
      '{"overlay": {"name": "rpi_generic", "image": "siderolabs/sbc-raspberrypi"}}',
      'ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9',
    ],
    [
      '{"customization":{"secureboot": {"includeWellKnownCertificates": true}}}',
      'fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6',
    ],
  ])('names %s as the real one does', async (body, id) => {
    expect(await idOf(factory, body)).toBe(id);
  });

  it.each([
    ['customization: [oops'],
    ['customisation: {}'],
    ['customization: {extraKernelArgs: 3}'],
    ['- 1'],
  ])('refuses %s with 400', async (body) => {
    expect((await post(factory, body)).status).toBe(400);
  });

  it('serves the image of a known schematic, and of no other', async () => {
    const id = await idOf(factory, 'customization: {extraKernelArgs: [talos.config=http://x/y]}');
    const image = await fetch(`${factory.url}/image/${id}/v1.9.5/metal-amd64.iso`);
    expect(image.status).toBe(200);
    const bytes = Buffer.from(await image.arrayBuffer());
    expect(bytes.toString('latin1', 32_769, 32_774)).toBe('CD001');
    const unknown = `${factory.url}/image/${'0'.repeat(64)}/v1.9.5/metal-amd64.iso`;
    expect((await fetch(unknown)).status).toBe(404);
  });

  it('fails on demand and recovers', async () => {
    factory.failWith(503);
    expect((await post(factory, '{}')).status).toBe(503);
    factory.failWith(undefined);
    expect((await post(factory, '{}')).status).toBe(201);
  });
});

it('knows its schematics after a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keystead-factory-'));
  const first = await startImageFactory({ folder });
  const id = await idOf(first, '{}');
  await first.stop();
  const second = await startImageFactory({ folder });
  try {
    expect(await (await fetch(`${second.url}/schematics/${id}`)).text()).toBe('customization: {}\n');
  } finally {
    await second.stop();
    await rm(folder, { recursive: true });
  }
});
