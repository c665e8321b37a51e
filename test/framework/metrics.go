// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Page is the replica's page of metrics, as the holder of the token may see it; "" is no one's.
func (r *Replica) Page(ctx context.Context, token string) (string, error) {
	return r.Ask(ctx, token, http.MethodGet, "/metrics", "")
}

// Ask sends a request to the replica's metrics server.
func (r *Replica) Ask(ctx context.Context, token, method, path, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.Metrics+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The metrics server signs its own certificate unless it is given one.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} //nolint:gosec // see above
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, request.URL, response.Status, text)
	}
	return string(text), err
}

// Samples are the lines of a page of metrics: value by name and labels, as written.
type Samples map[string]float64

// ReadSamples reads a page of metrics. Lines that are none are left out.
func ReadSamples(page string) Samples {
	m := Samples{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if value, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			m[line[:at]] = value
		}
	}
	return m
}

// Rows are a family's samples that have all of the labels.
func (s Samples) Rows(family string, labels ...string) []string {
	var rows []string
next:
	for name := range s {
		if name != family && !strings.HasPrefix(name, family+"{") {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(name, label) {
				continue next
			}
		}
		rows = append(rows, name)
	}
	return rows
}

// Sum adds up a family's samples that have all of the labels.
func (s Samples) Sum(family string, labels ...string) float64 {
	var total float64
	for _, name := range s.Rows(family, labels...) {
		total += s[name]
	}
	return total
}

// Figures is the leader's page of metrics, as an account of the namespace may read it.
func (t *Test) Figures() string {
	t.Helper()
	reader := metav1.ObjectMeta{Name: "figures", Namespace: t.Namespace}
	account := &corev1.ServiceAccount{ObjectMeta: reader}
	for _, object := range []client.Object{account, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: t.Namespace + "-figures"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: reader.Name, Namespace: t.Namespace}},
	}} {
		t.Must(client.IgnoreAlreadyExists(t.Client.Create(t.Context(), object)))
	}
	var token authenticationv1.TokenRequest
	t.Must(t.Client.SubResource("token").Create(t.Context(), account, &token))
	var page string
	t.Eventually(func() error {
		leader, err := t.leading(t.Context())
		if err == nil {
			page, err = leader.Page(t.Context(), token.Status.Token)
		}
		return err
	})
	return page
}

// Samples reads the leader's metrics.
func (t *Test) Samples() Samples {
	t.Helper()
	return ReadSamples(t.Figures())
}

// APIServer reads the API server's metrics.
func (t *Test) APIServer() Samples {
	t.Helper()
	page, err := t.Kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	t.Must(err)
	return ReadSamples(string(page))
}
