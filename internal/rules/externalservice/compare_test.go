// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

func comparisonOptions(t testing.TB) validationtest.Options[networkingv1.ExternalService] {
	return validationtest.Options[networkingv1.ExternalService]{
		Group: group, Resource: resource, Structural: Structural,
		Good: append(validationtest.Objects(t, "testdata/good.yaml"), validationtest.Objects(t, "testdata/bases.yaml")...),
		Values: map[string][]any{
			"addresses": {"192.0.2.1", "192.0.2.2", "2001:db8::1", "10.0.0.1", "198.51.100.7", "fd00::1", "fec0::1", "223.255.255.255", "127.0.0.1", "0.0.0.0", "::", "::1", "169.254.169.254", "fe80::1",
				"224.0.0.1", "240.0.0.1", "255.255.255.255", "ff05::1", "2001:DB8::1", "2001:db8:0:0::1", "::ffff:192.0.2.1", "::ffff:c000:201", "192.0.2.01", "0x7f.1", "1",
				"64:ff9b::a00:1", "fe80::1%eth0", "192.0.2.1/32", "one", "", "1:2:3:4:5:6:192.0.2.1", "223.255.255.255", "fec0::1"},
			"name": {"sql", "http", "a", "b", "web", "primary", "replica", "x-1", "db.example.com", "a.svc", "a.b.svc", "a.svc.example.org", "a.svc.cluster.local", ".b.svc.x", "a.b.svc.cluster.local", "a.b.c.svc.", "svc.svc.svc", "svc.svc.svc.x", "localhost", "db.localhost", "localhost.", "a.svc.", "mysvc.example.com",
				"192.0.2.1", "0x7f.1", "example.com.", "_sql._tcp.example.com", "a..b", "UPPER", "-a", "a-"},
			"port": {int64(5432), int64(80), int64(443), int64(65535), int64(1), "sql", "http", int64(0), int64(65536)},
			"path": {"/", "/healthz", "healthz", "/a b", "/ä"},
			"zone": {"a", "eu-central-1a", "-"},
		},
	}
}

func FuzzStructural(f *testing.F) { validationtest.Fuzz(f, comparisonOptions(f)) }

func TestStructuralAgreesWithTheDefinitionOnGeneratedObjects(t *testing.T) {
	validationtest.Run(t, comparisonOptions(t))
}
