  obey("unmade_lawful", not_made_lawful());
