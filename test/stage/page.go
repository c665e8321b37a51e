// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
)

// Page is the replica's page of metrics, as the holder of the token may see it.
func (r *Replica) Page(ctx context.Context, token string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	url := r.Metrics + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	// The metrics server signs its own certificate unless it is given one.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} //nolint:gosec // see above
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, response.Status, page)
	}
	return string(page), err
}
