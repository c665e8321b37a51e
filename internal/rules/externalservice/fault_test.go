// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestFaultRequests(t *testing.T) {
	at := time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC)
	for value, want := range map[common.Token]FaultRequest{
		"BlackHole for=10m":                                     {Type: v1.FaultBlackHole, For: 10 * time.Minute},
		"BlackHole for=10m id=build-1234,2":                     {Type: v1.FaultBlackHole, For: 10 * time.Minute},
		"BlackHole for=10m at=2026-03-02T14:00:00Z":             {Type: v1.FaultBlackHole, At: at, For: 10 * time.Minute},
		" FailOver  at=2026-03-02T15:00:00+01:00 for=1h ":       {Type: v1.FaultFailOver, At: at, For: time.Hour},
		"Drain endpoint=primary for=1s at=2026-03-02T14:00:00Z": {Type: v1.FaultDrain, Endpoint: "primary", At: at, For: time.Second},
	} {
		if got, err := ParseFault(value); err != nil || got != want {
			t.Errorf("%q is %+v, %v", value, got, err)
		}
	}
	for value, want := range map[common.Token]string{
		"":                                  "1 to 256 printable",
		" ":                                 "name a fault",
		"Blackhole":                         "must begin with",
		"BlackHole at=2026-03-02T14:00:00Z": "say how long",
		"BlackHole for=10m\n":               "1 to 256 printable",
		"BlackHole for=1.5m":                "for=1.5m must be a duration",
		"BlackHole for=10m id=":             `"id="`,
		"BlackHole for=10m id=1 id=2":       "at most once",
		"BlackHole for=61m at=2026-03-02T14:00:00Z":                                               "from 1s to 1h",
		"BlackHole for=0s at=2026-03-02T14:00:00Z":                                                "from 1s to 1h",
		"BlackHole for=-5m at=2026-03-02T14:00:00Z":                                               "from 1s to 1h",
		"BlackHole for=9999999h at=2026-03-02T14:00:00Z":                                          "from 1s to 1h",
		"BlackHole for=10m at=now":                                                                "RFC 3339",
		"BlackHole for=10m for=10m at=2026-03-02T14:00:00Z":                                       "at most once",
		"BlackHole for=10m until=x at=2026-03-02T14:00:00Z":                                       `"until=x"`,
		"BlackHole for=10m at=2026-03-02T14:00:00Z now":                                           `"now"`,
		"BlackHole endpoint=a for=10m at=2026-03-02T14:00:00Z":                                    "Drain only",
		"BlackHole for=10m at=0001-01-01T00:00:00Z":                                               "RFC 3339",
		"Drain for=10m at=2026-03-02T14:00:00Z endpoint=" + common.Token(strings.Repeat("a", 64)): "at most 63",
		"Drain for=10m at=2026-03-02T14:00:00Z":                                                   "name of an endpoint",
		"BlackHole for=10m at=2026-03-02T14:00:00Z" + common.Token(strings.Repeat(" ", 256)):      "1 to 256 printable",
	} {
		if _, err := ParseFault(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
	}
}

// A stored request that cannot be read is forgiven in an update of something else, and never keeps an
// object from being published.
func TestAFaultRequestIsJudgedWhereItChanges(t *testing.T) {
	asking := func(value string) *v1.ExternalService {
		return &v1.ExternalService{
			ObjectMeta: metav1.ObjectMeta{Name: "db", Annotations: map[string]string{v1.InjectFaultAnnotation: value}},
			Spec: v1.ExternalServiceSpec{
				Ports:     []v1.ServicePort{{Name: "sql", Port: 5432}},
				Endpoints: []v1.Endpoint{{Name: "a", Addresses: []v1.IPAddress{"192.0.2.1"}}},
			},
		}
	}
	now, then := asking("BlackHole for=10m"), asking("BlackHole for=10m at=2026-03-02T14:00:00Z")
	if created, scheduled := Warnings(now, nil), Warnings(then, nil); len(created) != 1 || len(scheduled) != 0 {
		t.Errorf("created with a fault: %q; with a time: %q", created, scheduled)
	}
	now.Status.ObservedGeneration = 1
	if again := Warnings(now, now); len(again) > 0 {
		t.Errorf("observed: %q", again)
	}
	bad, good := asking("BlackHole"), asking("BlackHole for=10m at=2026-03-02T14:00:00Z")
	const path = "metadata.annotations[networking.fairlead.dev/inject-fault]"
	if errs := Validate(bad, nil); len(errs) != 1 || errs[0].Field != path {
		t.Errorf("created: %v", errs)
	}
	if errs := Validate(bad, good); len(errs) != 1 {
		t.Errorf("changed: %v", errs)
	}
	good.Annotations[v1.FailbackNowAnnotation] = ""
	if errs := Validate(good, nil); len(errs) != 1 || errs[0].Field != "metadata.annotations[networking.fairlead.dev/failback-now]" {
		t.Errorf("no token: %v", errs)
	}
	good.Annotations[v1.FailbackNowAnnotation] = "2"
	for name, errs := range map[string]int{
		"kept": len(Validate(bad, bad)), "good": len(Validate(good, bad)), "published": len(Publishable(bad)),
	} {
		if errs > 0 {
			t.Errorf("%s: %d errors", name, errs)
		}
	}
}
