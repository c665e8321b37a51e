// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// get wants an answer of 200 from a server that a signed, as the client of p.
func get(ctx context.Context, a *authority, p pair, url string) error {
	_, err := fetch(ctx, a, p, url, 2<<10)
	return err
}

// fetch is get with the answer. It reads at most limit bytes of it. It keeps no connection: the servers it asks come and go.
func fetch(ctx context.Context, a *authority, p pair, url string, limit int64) ([]byte, error) {
	config, err := a.clientTLS(p)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %s", url, resp.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}

// getComponent asks a component that serves with component.crt whether it is ready.
func (c *Cluster) getComponent(ctx context.Context, port int, path string) error {
	admin := c.Admin()
	return get(ctx, c.pki.ca, pair{cert: admin.Cert, key: admin.Key}, fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
}
