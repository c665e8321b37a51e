// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// etcd is the store behind an API server, written to past it.
type etcd struct {
	t      *testing.T
	url    string
	client *http.Client
}

// serving is the line in which etcd says where it listens.
var serving = regexp.MustCompile(`serving client traffic securely.*"address":"(127\.0\.0\.1:[0-9]+)"`)

// etcdOf reaches the etcd of a cluster, as the API server does.
func (s *suite) etcdOf(c *cluster.Cluster) *etcd {
	s.Helper()
	log, err := os.ReadFile(c.Component(cluster.Etcd).LogPath())
	s.Must(err)
	found := serving.FindSubmatch(log)
	if found == nil {
		s.Fatal("etcd does not say where it listens")
	}
	file := func(name string) string { return filepath.Join(c.Folder(), "pki", name) }
	certificate, err := tls.LoadX509KeyPair(file("etcd-client.crt"), file("etcd-client.key"))
	s.Must(err)
	ca, err := os.ReadFile(file("etcd-ca.crt"))
	s.Must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &etcd{t: s.T, url: "https://" + string(found[1]), client: &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{certificate}}},
	}}
}

// put stores an object as it is, through etcd's JSON gateway.
func (e *etcd) put(k kind, namespace, name string, object map[string]any) {
	e.t.Helper()
	// Bytes are base64 in the gateway's JSON, as in Go's.
	body, err := json.Marshal(map[string][]byte{
		"key": fmt.Appendf(nil, "/registry/%s/%s/%s/%s", k.group, k.resource, namespace, name), "value": []byte(framework.Text(object)),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.url+"/v3/kv/put", bytes.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	answer, err := e.client.Do(request)
	if err != nil {
		e.t.Fatal(err)
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if err = errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK {
		e.t.Fatalf("put %s %s: %s %s %v", k.name, name, answer.Status, said, err)
	}
}
