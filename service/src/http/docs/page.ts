export function docsPage(): { html: string; contentSecurityPolicy: string } {
  return { html: '<!doctype html>', contentSecurityPolicy: "default-src 'none'" };
}
