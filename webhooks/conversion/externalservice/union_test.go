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
