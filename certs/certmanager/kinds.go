// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// certificates is the resource of the kind Certificate.
var certificates = certmanagerv1.SchemeGroupVersion.WithResource("certificates")
