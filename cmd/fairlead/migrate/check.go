// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// setTimes sets the interval, which is the same for what is unhealthy, and the timeout.
func setTimes(check *networkingv1.HealthCheck, at cursor, interval, timeout time.Duration) {
	if timeout > interval {
		at.note(Differs, "has a timeout that exceeds the interval, %s, which is used for both", common.DurationOf(interval))
		timeout = interval
	}
	every, within := common.DurationOf(interval), common.DurationOf(timeout)
	check.Interval, check.UnhealthyInterval, check.Timeout = &every, &every, &within
}

// addHeader adds a header to a check. Credentials are never sent out of the cluster.
func addHeader(get *common.HTTPGetAction, at cursor, name, value string) {
	switch strings.ToLower(name) {
	case "authorization", "cookie", "proxy-authorization":
		at.say(Lost, "a check sends no credentials")
	case "host":
		get.Host = &value
	default:
		get.HTTPHeaders = append(get.HTTPHeaders, common.HTTPHeader{Name: name, Value: value})
	}
}

// setScheme sets the scheme, unless it is the default.
func setScheme(get *common.HTTPGetAction, scheme string) {
	if strings.EqualFold(scheme, string(common.SchemeHTTPS)) {
		https := common.SchemeHTTPS
		get.Scheme = &https
	}
}
