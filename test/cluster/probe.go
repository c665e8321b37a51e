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

// get wants an answer of 200 from a server that a signed, as the client of p. It keeps no connection:
// the servers it asks come and go.
func get(ctx context.Context, a *authority, p pair, url string) error {
	config, err := a.clientTLS(p)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 2<<10))
	if err != nil {
		return err
	}
	return fmt.Errorf("%s answers %s: %s", url, resp.Status, strings.TrimSpace(string(body)))
}
