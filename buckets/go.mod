module fairlead.dev/fairlead/buckets

go 1.26.0

require fairlead.dev/fairlead v0.0.0

replace fairlead.dev/fairlead => ../
