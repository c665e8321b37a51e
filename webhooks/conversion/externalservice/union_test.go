// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Server-side apply converts what it has taken the defaults away from: an httpGet check without members is null then.
func TestACheckThatServerSideApplyHasEmptiedKeepsItsKind(t *testing.T) {
	for check, wants := range map[string]string{
		`{"httpGet":null}`:                  `{"httpGet":{}}`,
		`{"httpGet":null,"tcpSocket":null}`: `{"httpGet":{}}`,
		`{"grpc":null}`:                     `{"grpc":{}}`,
		`{"httpGet":null,"tcpSocket":{}}`:   `{"tcpSocket":{}}`,
		`{"httpGet":{"path":"/up"}}`:        `{"httpGet":{"path":"/up"}}`,
		`{"interval":"10s"}`:                `{"periodSeconds":10}`,
		`{"httpGet":null,"unknown":{}}`:     `{"httpGet":{}}`, // through a tree
	} {
		raw := fmt.Sprintf(`{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"name":"a"},
			"spec":{"ports":[{"name":"http","port":80}],"endpoints":[{"name":"a","addresses":["192.0.2.1"]}],"healthCheck":%s}}`, check)
		converted, err := New().Convert([]byte(raw), "v1alpha1")
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Spec struct{ Probe json.RawMessage }
		}
		if err := json.Unmarshal(converted, &object); err != nil {
			t.Fatal(err)
		}
		if got := string(object.Spec.Probe); got != wants {
			t.Errorf("%s becomes %s, want %s", check, got, wants)
		}
	}
}

// A view at v1alpha1 is emptied in the same way.
func TestACheckThatIsEmptiedAtV1alpha1KeepsItsKind(t *testing.T) {
	for probe, wants := range map[string]string{
		`{"httpGet":null}`:                `{"httpGet":{},"jitterPercent":10,"unhealthyInterval":"30s"}`,
		`{"grpc":null,"periodSeconds":7}`: `{"grpc":{},"interval":"7s","jitterPercent":10,"unhealthyInterval":"30s"}`,
		`{"httpGet":null,"tcpSocket":{}}`: `{"jitterPercent":10,"tcpSocket":{},"unhealthyInterval":"30s"}`,
	} {
		converted, err := New().Convert(fmt.Appendf(nil, `{"apiVersion":"networking.fairlead.dev/v1alpha1","kind":"ExternalService",
			"metadata":{"name":"a"},"spec":{"ports":{"http":80},"hosts":["192.0.2.1"],"probe":%s}}`, probe), "v1")
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Spec struct{ HealthCheck json.RawMessage }
		}
		if err := json.Unmarshal(converted, &object); err != nil {
			t.Fatal(err)
		}
		if got := string(object.Spec.HealthCheck); got != wants {
			t.Errorf("%s becomes %s, want %s", probe, got, wants)
		}
	}
}
