// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxStored bounds an answer of etcd; it takes no value above 1.5 MiB.
const maxStored = 4 << 20

// Stored returns the bytes that etcd holds under a key, such as
// /registry/networking.fairlead.dev/externalservices/default/db: what a client never sees. It fails
// where there are none.
func (c *Cluster) Stored(ctx context.Context, key string) ([]byte, error) {
	var answer struct {
		Kvs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	if err := c.askEtcd(ctx, "range", map[string]any{"key": []byte(key)}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Kvs) == 0 {
		return nil, fmt.Errorf("etcd holds nothing under %s", key)
	}
	return answer.Kvs[0].Value, nil
}

// Store puts bytes into etcd behind the API server's back, as a restored backup would: no schema, no
// webhook and no conversion sees them before they are read.
func (c *Cluster) Store(ctx context.Context, key string, value []byte) error {
	return c.askEtcd(ctx, "put", map[string]any{"key": []byte(key), "value": value}, &struct{}{})
}

// askEtcd calls etcd's gateway for JSON, in which bytes are base64, as they are in Go.
func (c *Cluster) askEtcd(ctx context.Context, call string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	config, err := c.pki.etcd.clientTLS(c.pki.etcdClient)
	if err != nil {
		return err
	}
	c.mu.Lock()
	url := c.etcdURL + "/v3/kv/" + call
	c.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxStored))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", url, resp.Status, strings.TrimSpace(string(got)))
	}
	return json.Unmarshal(got, answer)
}
