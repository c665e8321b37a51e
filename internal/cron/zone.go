// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones must resolve in an image that ships no zone database
)

// Location loads an IANA time zone; an empty name means UTC. "Local" is refused in any case: it
// would mean another zone in every pod.
func Location(zone string) (*time.Location, error) {
	if strings.EqualFold(zone, "local") {
		return nil, errors.New(`"Local" depends on where the process runs: use an IANA name such as Europe/Zurich`)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: use an IANA name such as Europe/Zurich", zone)
	}
	return location, nil
}
